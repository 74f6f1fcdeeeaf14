/** FILE: a reference to a stored file, with its name, size and type. The content is stored outside the record, sealed in pieces. */
import { readI64, readUtf8 } from '../util/bytes.ts'
import { type ColumnType, ValueError } from './column-type.ts'

/** The value of a FILE column. Only an upload makes one. */
export interface StoredFile {
  /** Row id of the file. */
  readonly file: number
  /** Length of the content in bytes. */
  readonly size: number
  /** File name with its extension, without path, control and direction characters. */
  readonly name: string
  /** MIME type, detected from the content. At most 127 ASCII characters. */
  readonly contentType: string
}

/** Length in bytes of the row id, the size, and the length of the type. */
const HEAD_BYTES = 17

function refuse(): never {
  throw new ValueError('holds a file, so it takes no value: upload the file with uploadFile')
}

/** Trusted form: a `StoredFile`. It has no order and no digest, and no text is read as one. */
export const fileType: ColumnType<StoredFile> = {
  name: 'FILE',
  tag: 10,
  physical: 'bytes',
  size: undefined,
  comparesAs: undefined,
  keyForm: undefined,
  isOrdered: false,
  isSummable: false,
  parse: refuse,
  fromText: refuse,
  write({ file, size, name, contentType }, out) {
    out.i64(file)
    out.i64(size)
    out.u8(contentType.length)
    out.utf8(contentType)
    out.utf8(name)
  },
  read(bytes, start, end) {
    const nameStart = start + HEAD_BYTES + (bytes[start + HEAD_BYTES - 1] ?? 0)
    return {
      file: Number(readI64(bytes, start)),
      size: Number(readI64(bytes, start + 8)),
      contentType: readUtf8(bytes, start + HEAD_BYTES, nameStart),
      name: readUtf8(bytes, nameStart, end),
    }
  },
  canonical: refuse,
  compare: () => undefined,
  toCell: refuse,
  fromCell: refuse,
  toText: ({ name }) => name,
  isSpelledBy: () => false,
  toJson: ({ name }) => name,
}
