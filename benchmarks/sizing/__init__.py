"""What a large lab comes to: figures that were measured, many bisections that share hosts, and arithmetic with both."""
