"""The process that works on calls: `python -m clearway.sdk.worker`, started as an ordinary job."""
