"""What others test with: builders, fakes, and one behavioural suite per port."""
