/** The input of an upload, as a session or a ticket's owner gives it. */
import type { UploadFileInput, UploadFileOptions } from '../operations/upload-file.ts'

/** An upload with its options beside its other members. By ticket, it names no record. */
export type GivenUpload = Partial<UploadFileInput> & UploadFileOptions

/** Returns the input of the operation. Its members are read inside the operation, so that a getter that throws there leaves an event. */
export function toUploadInput(given: GivenUpload): UploadFileInput {
  return {
    get table() {
      return given?.table as string
    },
    get column() {
      return given?.column as string
    },
    get id() {
      return given?.id as string
    },
    get file() {
      return given?.file
    },
    get fileName() {
      return given?.fileName as string
    },
    get options() {
      const { returnFileMetadata, signal }: UploadFileOptions = given ?? {}
      return { ...(returnFileMetadata === undefined ? {} : { returnFileMetadata }), ...(signal === undefined ? {} : { signal }) }
    },
  }
}
