"""What has a user seen? The changes of their filters, and pages of what is unseen."""
