/** Detects the type of a file from its content. */

/** Detects the MIME type of a file from its content. A declared type has no effect. */
export interface ContentTypeDetector {
  /**
   * Returns the MIME type, in lower case and without parameters, of a file that begins with these bytes; `application/octet-stream` if
   * it is unknown, or if there are no bytes. `isWhole` is true if there are no more bytes. `fileName` decides only where the content leaves
   * it open: text in an older encoding. Never throws for any content.
   */
  detect(beginning: Uint8Array, isWhole: boolean, fileName: string): Promise<string>
}
