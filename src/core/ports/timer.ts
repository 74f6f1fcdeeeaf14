/** Runs work later: retries of scans, and looks at what other processes left. */
export interface Timer {
  /** Calls back after a time in milliseconds. Does not keep the process alive meanwhile. Returns a function that prevents the call. */
  after(milliseconds: number, callback: () => void): () => void
}
