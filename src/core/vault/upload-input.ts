/** The input of an upload, as a session or a ticket's owner gives it. */
import type { TicketUpload, UploadFileInput, UploadFileOptions } from '../operations/upload-file.ts'
import { assertMembers } from '../util/options.ts'

/** An upload with its options beside its other members. By ticket, it names no record. */
export type GivenUpload = Partial<UploadFileInput> & UploadFileOptions

const CONTENT = ['file', 'fileName'] as const
const OPTIONS = ['returnFileMetadata', 'signal'] as const

/** Returns the input of an upload into a record. Its members are read inside the operation, so that a getter that throws there leaves an event. */
export function toUploadInput(given: GivenUpload): UploadFileInput {
  return readLater(given, ['table', 'column', 'id', ...CONTENT]) as UploadFileInput
}

/** The same for an upload by ticket. */
export function toTicketUpload(given: GivenUpload): TicketUpload {
  return readLater(given, CONTENT) as TicketUpload
}

function readLater(given: GivenUpload, members: readonly (keyof GivenUpload)[]): Partial<UploadFileInput> {
  const input = {
    get options() {
      assertMembers(given, [...members, ...OPTIONS])
      const { returnFileMetadata, signal }: UploadFileOptions = given ?? {}
      return { ...(returnFileMetadata === undefined ? {} : { returnFileMetadata }), ...(signal === undefined ? {} : { signal }) }
    },
  }
  for (const name of members) Object.defineProperty(input, name, { get: () => given?.[name], enumerable: true })
  return input
}
