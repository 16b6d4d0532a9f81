# Prints the total of a price list, in cents.
# usage: sh receipt.sh FILE

total=0
while read -r name price; do
    total=$price
done < "$1"
echo "total: $total"
