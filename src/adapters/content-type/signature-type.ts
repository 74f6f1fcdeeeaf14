/** Detects binary formats by their signatures, with the package file-type. */

const GZIP = [0x1f, 0x8b, 0x08]
/** TIFF, in both byte orders. */
const TIFF = [
  [0x49, 0x49, 0x2a, 0x00],
  [0x4d, 0x4d, 0x00, 0x2a],
]

/** Returns the MIME type, in lower case and without parameters, of a format with a signature; undefined if there is none. Never throws. */
export async function signatureType(beginning: Uint8Array): Promise<string | undefined> {
  // The package inflates a gzip file, up to 16 MiB, to look for an archive. The type is the same for all.
  if (startsWith(beginning, GZIP)) return 'application/gzip'
  const found = await packageType(beginning)
  // The package looks for the directory of a TIFF file, which most writers put at the end.
  if (found === undefined && TIFF.some((bytes) => startsWith(beginning, bytes))) return 'image/tiff'
  // The package takes the first entry that says something, and in many Android packages that is the one of any Java archive.
  if (found === 'application/java-archive' && isAndroidPackage(beginning)) return 'application/vnd.android.package-archive'
  return found?.split(';', 1)[0]?.trim().toLowerCase()
}

async function packageType(beginning: Uint8Array): Promise<string | undefined> {
  // Loaded for the first file, because it would double the time of importing this library.
  const { fileTypeFromBuffer } = await import('file-type')
  try {
    return (await fileTypeFromBuffer(beginning))?.mime
  } catch {
    return undefined // A malformed file, on which a parser of the package gives up.
  }
}

function isAndroidPackage(beginning: Uint8Array): boolean {
  const names = new TextDecoder('latin1').decode(beginning)
  return names.includes('AndroidManifest.xml') || names.includes('classes.dex')
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}
