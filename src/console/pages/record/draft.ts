/** What the caller has written into the fields of a record, and the values that it means. */
import type { ColumnDescription } from '../../app/contract.ts'

/** Text, or null. A column that is not in the draft is left as it is. */
export type Draft = Readonly<Record<string, string | null>>

/** What is wrong with fields, by column. */
export type FieldErrors = Readonly<Record<string, string>>

/** Returns the values of a draft, or what is wrong with its texts. The vault checks the rest. */
export function valuesOf(
  columns: readonly ColumnDescription[],
  draft: Draft,
): { readonly fields: Readonly<Record<string, unknown>> } | { readonly errors: FieldErrors } {
  const fields: Record<string, unknown> = {}
  const errors: Record<string, string> = {}
  for (const { name, type } of columns) {
    const text = Object.hasOwn(draft, name) ? draft[name] : undefined
    if (text === undefined) continue
    try {
      fields[name] = text === null ? null : meaningOf(type, text)
    } catch (error) {
      errors[name] = (error as Error).message
    }
  }
  return Object.keys(errors).length === 0 ? { fields } : { errors }
}

/** Returns the value that a text means for a type. A whole number and a decimal stay text: a number of JavaScript loses digits. */
function meaningOf(type: string, text: string): unknown {
  switch (type) {
    case 'FLOAT': {
      const value = Number(text)
      if (text.trim() === '' || !Number.isFinite(value)) throw new Error('This is not a number.')
      return value
    }
    case 'BOOL':
      return text === 'true'
    case 'INTEGER':
    case 'DECIMAL':
      return text.trim()
    case 'JSON':
    case 'ARRAY':
      return parsedJson(text)
    default:
      return text
  }
}

/** The error of `JSON.parse` quotes the text. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('This is not JSON.')
  }
}

/** Returns what is wrong with which field, of an error of the vault; undefined if it is about no field of these. */
export function errorsByColumn(
  { message, details }: { readonly message: string; readonly details: readonly unknown[] },
  columns: readonly ColumnDescription[],
): FieldErrors | undefined {
  const named = details.map((detail) => Reflect.get(Object(detail), 'column'))
  const wrong = columns.filter(({ name }) => named.includes(name)).map(({ name }) => [name, message] as const)
  return wrong.length === 0 ? undefined : Object.fromEntries(wrong)
}
