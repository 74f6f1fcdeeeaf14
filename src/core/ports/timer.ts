/** Runs work later: retries of scans and of transactions, and looks at what other processes left. */
export interface Timer {
  /** Calls back after a time in milliseconds. Keeps the process alive meanwhile only if that is asked for. Returns a function that prevents the call. */
  after(milliseconds: number, callback: () => void, keepsAlive?: boolean): () => void
}
