//! stopgap wiring
#![allow(clippy::all, clippy::pedantic, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, clippy::allow_attributes, clippy::allow_attributes_without_reason, clippy::unwrap_used)]
use tokio_util::sync::CancellationToken;
use xsh::error::*;
use xsh::update::Update;
use xsh::*;

fn main() -> std::process::ExitCode {
    let code = match run() {
        Ok(e) => e,
        Err(e) => {
            eprintln!("{e}");
            e.exit
        }
    };
    std::process::ExitCode::from(code.code())
}

fn run() -> Result<Exit, Error> {
    let args = match cli::parse(std::env::args_os())? {
        cli::Parsed::Print(t) => {
            print!("{t}");
            return Ok(Exit::Done);
        }
        cli::Parsed::Run(a) => *a,
    };
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let r = rt.block_on(go(args));
    rt.shutdown_timeout(headless::SHUTDOWN_WITHIN);
    r
}

async fn go(args: cli::Args) -> Result<Exit, Error> {
    let cancel = CancellationToken::new();
    headless::cancel_on_signals(cancel.clone())?;
    if let Some(cli::Command::Sessions { all, action }) = &args.command {
        let start = start::prepare(&args)?;
        match action {
            Some(cli::SessionsAction::Show { id }) => {
                print!("{}", commands::sessions::show(&start.store.find(Some(id), None)?)?);
            }
            _ => print!("{}", commands::sessions::list(&start.store, *all)),
        }
        return Ok(Exit::Done);
    }
    let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
    let wires = start::Wires { updates: tx, questions: None };
    let printer = tokio::spawn(async move {
        while let Some(u) = rx.recv().await {
            match u {
                Update::TurnFinished(s) => {
                    println!("{}", s.answer);
                    if !s.detail.is_empty() {
                        eprintln!("{:?}: {} {:?}", s.ending, s.detail, s.help);
                    }
                }
                Update::Text(_) => {}
                other => eprintln!("{other:?}"),
            }
        }
    });
    let code = {
        if args.demo {
            let dir = tempfile::tempdir().unwrap().keep();
            demo::unpack(&dir).unwrap();
            let mut args = args.clone();
            args.work.directory = Some(dir);
            args.work.permission_mode = Some(policy::Mode::Auto);
            let start = start::prepare(&args)?;
            let mut agent = start::demo_agent(start, wires)?;
            headless::run(&mut agent, demo::PROMPT, &cancel).await?
        } else {
            let (prompt, _) = headless::prompt(&args)?;
            let mut start = start::prepare(&args)?;
            start::discover(&mut start.config).await;
            let mut agent = start::agent(start, &args, wires)?;
            headless::run(&mut agent, &prompt, &cancel).await?
        }
    };
    printer.await.unwrap();
    Ok(code)
}
