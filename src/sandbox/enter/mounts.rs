//! What a command sees of the file system: all of it, to be read; the workspace and a private `/tmp`
//! to be written; a few devices; what others run by themselves nailed down.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};

use super::sys::{Attribute, set_mount};
use super::{Fault, Order, failed};
use crate::sandbox::{TMP, keep};
use crate::session::origin::KEY_FILE;

/// Devices that do nothing but give or take bytes.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Names in `/dev` that lead elsewhere.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Other places where programs put temporary files.
const OTHER_TMP: &str = "/var/tmp";

/// Bytes of shared memory.
const SHARED_MEMORY: &str = "mode=1777,size=1g";

/// Builds the view for this order.
pub(super) fn confine(order: &Order) -> Result<(), Fault> {
    own_view()?;
    let mut roots = order.roots.clone();
    // What lies in another comes later, or it would be hidden.
    roots.sort_by_key(|root| root.components().count());
    let trees = roots.iter().map(|root| Ok((root, copy(root)?)));
    let trees = trees.collect::<Result<Vec<_>, Fault>>()?;
    let places = [TMP, OTHER_TMP].map(Path::new).into_iter().filter(|place| place.is_dir());
    let places = places.map(|place| Ok((place.to_owned(), copy(&order.tmp)?)));
    let places = places.collect::<Result<Vec<_>, Fault>>()?;
    let devices = copy_devices()?;
    nothing_writable()?;
    put_devices(devices)?;
    for (place, tree) in places {
        put(&tree, &place)?;
    }
    let writable = [TMP, OTHER_TMP].map(PathBuf::from).into_iter().chain(roots.iter().cloned());
    let writable: Vec<PathBuf> = writable.collect();
    for (root, tree) in trees {
        // Below the private folder there is nothing yet to put it on.
        fs::create_dir_all(root).map_err(failed(&format!("make {}", root.display())))?;
        hold_above(root, &writable)?;
        put(&tree, root)?;
        // A link put there by an earlier command would lead out.
        if fs::canonicalize(root).is_ok_and(|real| real != *root) {
            return Err(format!("{} is not where it was", root.display()));
        }
    }
    roots.iter().try_for_each(|root| nail_down(root, &order.protected))?;
    hide(&order.state.join(KEY_FILE))
}

/// Puts something in a file's place that nobody can open.
fn hide(file: &Path) -> Result<(), Fault> {
    if file.is_file() { put(&copy(Path::new("/dev/null"))?, file) } else { Ok(()) }
}

/// Keeps the folders above a root from being moved away where they are writable: the next command
/// finds the root by its path.
fn hold_above(root: &Path, writable: &[PathBuf]) -> Result<(), Fault> {
    let around = writable.iter().filter(|above| root.starts_with(above) && root != above.as_path());
    let Some(innermost) = around.max_by_key(|above| above.components().count()) else {
        return Ok(());
    };
    keep::between(innermost, root).iter().try_for_each(|folder| put(&copy(folder)?, folder))
}

/// The same without any folder, to see whether it would work.
pub(super) fn try_out() -> Result<(), Fault> {
    own_view()?;
    let devices = copy_devices()?;
    nothing_writable()?;
    put_devices(devices)
}

/// What is mounted here is mounted nowhere else.
fn own_view() -> Result<(), Fault> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(failed("make mounts private"))
}

fn nothing_writable() -> Result<(), Fault> {
    set_mount(CWD, c"/", &[Attribute::ReadOnly, Attribute::NoSetuid, Attribute::NoDevices])
        .map_err(failed("make the file system read-only"))
}

/// A copy of what is mounted at a path, as it is now, with all that is mounted below.
fn copy(path: &Path) -> Result<OwnedFd, Fault> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let what = format!("copy the mount of {}", path.display());
    let tree = open_tree(CWD, path, flags).map_err(failed(&what))?;
    Ok(tree)
}

/// Puts a copy in its place.
fn put(tree: &OwnedFd, place: &Path) -> Result<(), Fault> {
    let what = format!("mount {}", place.display());
    set_mount(tree.as_fd(), c"", &[Attribute::NoSetuid, Attribute::NoDevices])
        .map_err(failed(&what))?;
    attach(tree, place).map_err(failed(&what))
}

fn attach(tree: &OwnedFd, place: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn copy_devices() -> Result<Vec<(&'static str, OwnedFd)>, Fault> {
    let there = DEVICES.into_iter().filter(|name| Path::new("/dev").join(name).exists());
    there.map(|name| Ok((name, copy(&Path::new("/dev").join(name))?))).collect()
}

/// A `/dev` of its own: a disk or another's terminal is writable even where files are not.
fn put_devices(devices: Vec<(&'static str, OwnedFd)>) -> Result<(), Fault> {
    let dev = Path::new("/dev");
    let done = || -> io::Result<()> {
        new(dev, c"tmpfs", "mode=755,size=64k")?;
        for (name, tree) in devices {
            File::create(dev.join(name))?;
            attach(&tree, &dev.join(name))?;
        }
        for (name, target) in DEVICE_LINKS {
            symlink(target, dev.join(name))?;
        }
        for name in ["shm", "pts"] {
            fs::create_dir(dev.join(name))?;
        }
        new(&dev.join("shm"), c"tmpfs", SHARED_MEMORY)?;
        new(&dev.join("pts"), c"devpts", "newinstance,ptmxmode=0666,mode=620")
    };
    done().map_err(failed("make /dev"))
}

/// Mounts a new file system.
fn new(place: &Path, kind: &std::ffi::CStr, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(mount(kind, place, kind, flags, options.as_c_str())?)
}

/// A `/proc` that shows only the processes of the box. In a container that hides parts of its own
/// the kernel does not allow it; then the old one stays, in which other processes can be seen.
pub(super) fn put_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV | MountFlags::RDONLY;
    Ok(mount(c"proc", c"/proc", c"proc", flags, c"")?)
}

/// Makes what is there of the protected files read-only, and keeps the folders that hold them from
/// being moved away, by mounting each on itself.
fn nail_down(root: &Path, more: &[PathBuf]) -> Result<(), Fault> {
    let nails = keep::nails(root, more);
    for folder in nails.held {
        put(&copy(&folder)?, &folder)?;
    }
    for path in nails.read_only {
        let tree = copy(&path)?;
        let what = format!("protect {}", path.display());
        set_mount(tree.as_fd(), c"", &[Attribute::ReadOnly]).map_err(failed(&what))?;
        attach(&tree, &path).map_err(failed(&what))?;
    }
    Ok(())
}
