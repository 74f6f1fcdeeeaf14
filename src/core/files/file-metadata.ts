/** Metadata of files, as callers get it. Source: specification, "FileMetadata". */

/** The name, size and type of a file. */
export interface FileMetadata {
  /** Includes the extension, if the upload had one. */
  readonly fileName: string
  /** Size in KB of 1,024 bytes, rounded up. */
  readonly fileSizeKB: number
  /** MIME type, detected from the content. */
  readonly fileType: string
}

/** What is known of a file: its name, its length in bytes, and its type. */
interface NamedContent {
  readonly name: string
  readonly size: number
  readonly contentType: string
}

/** Returns the metadata of a file. */
export function metadataOf({ name, size, contentType }: NamedContent): FileMetadata {
  return { fileName: name, fileSizeKB: Math.ceil(size / 1024), fileType: contentType }
}
