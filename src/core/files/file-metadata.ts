/** Metadata of files, as callers get it: the name, which is shown and never part of a path, the size and the MIME type. Source: specification, "FileMetadata". */
import { MAX_FILE_NAME_LENGTH } from '../limits.ts'

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

/** The name of a file without a usable one. */
const UNNAMED = 'file'
/** Control characters, and those that change the direction of text or are invisible, also fillers and variants: a name must not look like another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu
/** Maximum length of an extension that is kept when a long name is cut, in UTF-16 units. */
const MAX_EXTENSION_LENGTH = 16

/**
 * Returns the name of a file as it is stored: the last part of its path, without hidden characters, and at most
 * MAX_FILE_NAME_LENGTH long with its extension kept. Any text is accepted.
 */
export function toFileName(given: string): string {
  const last = given.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  // A hidden character can separate two that are one in NFC.
  const visible = last.replace(HIDDEN, '').normalize('NFC').trim()
  const name = shorten(visible).trim()
  return /^[.\s]*$/.test(name) ? UNNAMED : name
}

function shorten(name: string): string {
  if (name.length <= MAX_FILE_NAME_LENGTH) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= MAX_EXTENSION_LENGTH ? name.slice(dot) : ''
  const stem = name.slice(0, MAX_FILE_NAME_LENGTH - extension.length)
  // A character of two units is not cut in half.
  return stem.replace(/[\uD800-\uDBFF]$/u, '') + extension
}

/** A MIME type in lower case without parameters, or all subtypes of one type, as in `image/*`. */
export const CONTENT_TYPE_PATTERN = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/([a-z0-9][a-z0-9!#$&^_.+-]{0,62}|\*)$/

/** The type of content that no detector knows. */
export const UNKNOWN_CONTENT_TYPE = 'application/octet-stream'

const EXACT_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/

/** Returns a detected type as it is stored: in lower case and without parameters; UNKNOWN_CONTENT_TYPE if it has another form. */
export function toContentType(detected: unknown): string {
  const text = typeof detected === 'string' ? (detected.split(';', 1)[0] ?? '').trim().toLowerCase() : ''
  return EXACT_TYPE.test(text) ? text : UNKNOWN_CONTENT_TYPE
}

/** True if a column with these allowed types can hold a file of this type. */
export function isAllowedType(allowedTypes: readonly string[] | undefined, contentType: string): boolean {
  if (allowedTypes === undefined) return true
  return allowedTypes.some((allowed) =>
    allowed.endsWith('/*') ? contentType.startsWith(allowed.slice(0, -1)) : allowed === contentType,
  )
}
