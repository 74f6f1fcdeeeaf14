/** Builds PNG files with a comment. */

/** A PNG file with a comment, and without an image. */
export function pngWith(comment: string): Uint8Array {
  const chunk = (type: string, body: Uint8Array) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(body.length)
    return Buffer.concat([length, Buffer.from(type, 'latin1'), body, Buffer.alloc(4)])
  }
  const parts = [chunk('IHDR', Buffer.alloc(13)), chunk('tEXt', Buffer.from(comment)), chunk('IDAT', Buffer.alloc(9))]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts])
}
