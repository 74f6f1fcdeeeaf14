/** Builds zip files entry by entry, as office programs, build tools and attackers do. */
import { crc32, deflateRawSync } from 'node:zlib'

/** A file in an archive. */
export interface ZipEntry {
  readonly name: string
  readonly content: string | Uint8Array
  /** Stores the content without compression. Default false. */
  readonly stored?: boolean
  /** Writes lengths behind the content, as programs do that write to a stream. Default false. */
  readonly streamed?: boolean
  /** Marks the entry as encrypted by a password. Default false. */
  readonly encrypted?: boolean
  /** The length that the entry claims, in bytes. Default: its length. */
  readonly claimedLength?: number
}

/** Returns a zip file with the entries in this order. */
export function zipFile(entries: readonly ZipEntry[]): Uint8Array {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { local, central } = encode(entry, offset)
    locals.push(local)
    centrals.push(central)
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}

function encode(entry: ZipEntry, offset: number): { readonly local: Buffer; readonly central: Buffer } {
  const name = Buffer.from(entry.name)
  const plain = Buffer.from(entry.content)
  const body = entry.stored === true ? plain : deflateRawSync(plain)
  const lengths = Buffer.alloc(12)
  lengths.writeUInt32LE(crc32(plain), 0)
  lengths.writeUInt32LE(body.length, 4)
  lengths.writeUInt32LE(entry.claimedLength ?? plain.length, 8)
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(20, 0)
  fields.writeUInt16LE((entry.encrypted === true ? 1 : 0) | (entry.streamed === true ? 8 : 0), 2)
  fields.writeUInt16LE(entry.stored === true ? 0 : 8, 4)
  fields.writeUInt16LE(name.length, 22)
  const known = Buffer.from(fields)
  lengths.copy(known, 10)
  const descriptor = entry.streamed === true ? [Buffer.from('PK\x07\x08', 'latin1'), lengths] : []
  const place = Buffer.alloc(14)
  place.writeUInt32LE(offset, 10)
  return {
    local: Buffer.concat([
      Buffer.from('PK\x03\x04', 'latin1'),
      entry.streamed === true ? fields : known,
      name,
      body,
      ...descriptor,
    ]),
    central: Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), known, place, name]),
  }
}
