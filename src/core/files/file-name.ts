/** File names of uploads. A name is kept to be shown, and is never part of a path. */
import { MAX_FILE_NAME_LENGTH } from '../limits.ts'

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
