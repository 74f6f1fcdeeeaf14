/** Two small zip files that a scanner cannot read to their end: one in which archives are nested, and one that is encrypted. */

const LOCAL_HEADER_BYTES = 30
const CENTRAL_HEADER_BYTES = 46
const END_BYTES = 22
const NAME = new TextEncoder().encode('probe')
const TEXT = new TextEncoder().encode('This text is not encrypted, although its archive says so.')
const ENCRYPTED_FLAG = 1

/** Returns archives in each other, `depth` of them. */
export function nestedZip(depth: number): Uint8Array {
  let file = TEXT
  for (let level = 0; level < depth; level++) file = zipOf(file, 0)
  return file
}

/** Returns an archive whose one file is marked as encrypted. */
export function encryptedZip(): Uint8Array {
  return zipOf(TEXT, ENCRYPTED_FLAG)
}

/** Returns a zip file with one stored file. Source: PKWARE, APPNOTE.TXT, 4.3. */
function zipOf(content: Uint8Array, flags: number): Uint8Array<ArrayBuffer> {
  const localBytes = LOCAL_HEADER_BYTES + NAME.length + content.length
  const file = new Uint8Array(localBytes + CENTRAL_HEADER_BYTES + NAME.length + END_BYTES)
  const view = new DataView(file.buffer)
  view.setUint32(0, 0x04034b50, true)
  writeFields(view, 4, content, flags)
  file.set(NAME, LOCAL_HEADER_BYTES)
  file.set(content, LOCAL_HEADER_BYTES + NAME.length)
  view.setUint32(localBytes, 0x02014b50, true)
  view.setUint16(localBytes + 4, ZIP_VERSION, true)
  writeFields(view, localBytes + 6, content, flags)
  file.set(NAME, localBytes + CENTRAL_HEADER_BYTES)
  const end = file.length - END_BYTES
  view.setUint32(end, 0x06054b50, true)
  view.setUint16(end + 8, 1, true)
  view.setUint16(end + 10, 1, true)
  view.setUint32(end + 12, CENTRAL_HEADER_BYTES + NAME.length, true)
  view.setUint32(end + 16, localBytes, true)
  return file
}

const ZIP_VERSION = 20

/** The fields that both headers of a file share, in the same order. The checksum stays zero: clamd does not compare it. */
function writeFields(view: DataView, at: number, content: Uint8Array, flags: number): void {
  view.setUint16(at, ZIP_VERSION, true)
  view.setUint16(at + 2, flags, true)
  view.setUint32(at + 14, content.length, true)
  view.setUint32(at + 18, content.length, true)
  view.setUint16(at + 22, NAME.length, true)
}
