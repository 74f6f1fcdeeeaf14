/** Measures how long work takes. The clock cannot: it counts in milliseconds, and can be set while the work goes on. */
export interface Stopwatch {
  /** Returns milliseconds with fractions since some moment. Never falls within a process. */
  now(): number
}
