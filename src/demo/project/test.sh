# Checks receipt.sh against a list whose total is known.

expected="total: 680"
actual=$(sh receipt.sh prices.txt)
if [ "$actual" = "$expected" ]; then
    echo "PASS: $actual"
else
    echo "FAIL: expected '$expected', got '$actual'"
    exit 1
fi
