// Included headers are the test.
