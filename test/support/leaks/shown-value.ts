/** What a caller is shown in place of a value, by a second implementation of the masks. */
import type { RedactionLevel } from '../../../src/core/redaction.ts'
import { spelt } from './model.ts'
import type { LeakColumn } from './schemas.ts'

const REDACTED = '*REDACTED*'

/** A value at a redaction level, with masks written by hand. */
export function shown({ definition }: LeakColumn, value: unknown, level: RedactionLevel): unknown {
  if (value === null || value === undefined || level === 'PLAIN_TEXT') return value
  if (level === 'REDACTED' || definition.mask === undefined) return REDACTED
  return masked(definition.mask, textOf(definition, value))
}

/** The same as text, as detokenize returns it for every type. */
export function shownText(column: LeakColumn, value: unknown, level: RedactionLevel): string {
  return level === 'PLAIN_TEXT' ? textOf(column.definition, value) : spelt(shown(column, value, level))
}

/** A value as text. A text in a JSON column has its quotes: without them it could be another value, or look redacted. */
function textOf({ type }: LeakColumn['definition'], value: unknown): string {
  return type === 'JSON' ? JSON.stringify(value) : spelt(value)
}

function masked(mask: NonNullable<LeakColumn['definition']['mask']>, text: string): string {
  if ('find' in mask) return /[a-z]/.test(text) ? text.replaceAll(/[a-z]+/g, '#') : REDACTED
  const { length } = [...text]
  // A mask that kept all of a text would hide nothing.
  const kept = 'count' in mask && length > mask.count ? mask.count : 0
  switch (mask.preset) {
    case 'keepFirst':
      return [...text].map((char, at) => (at < kept ? char : '*')).join('')
    case 'keepLast':
      return [...text].map((char, at) => (at >= length - kept ? char : '*')).join('')
    case 'email':
      return text.includes('@') ? `${text[0]}***@${text.split('@')[1]}` : '***'
    case 'card':
      return `************${/^[0-9]{12,19}$/.test(text) ? text.slice(-4) : '****'}`
    case 'cardBin':
      return /^[0-9]{15,19}$/.test(text) ? `${text.slice(0, 6)}******${text.slice(-4)}` : masked({ preset: 'card' }, text)
    case 'iban':
      return '*'.repeat(22)
    case 'ssn':
      return '***-**-****'
  }
}
