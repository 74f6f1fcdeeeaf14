/** The streams that a command prints on. */

/** A stream that takes text, such as `process.stdout`. */
export interface TextStream {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}
