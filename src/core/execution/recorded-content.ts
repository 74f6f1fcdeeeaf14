/** What an event records of the input of an operation: its shape, and names of the schema. */
import { recordInput } from '../audit/record-shape.ts'
import type { SessionContext } from './context.ts'
import type { NamesRead } from './event-builder.ts'
import type { Operation } from './operation.ts'

/** Returns the input as its event records it; empty text if a getter of the input throws. */
export function recordedInput(
  { layout }: Pick<SessionContext, 'layout'>,
  { recorded }: Pick<Operation<never, never, never>, 'recorded'>,
  given: object,
): string {
  try {
    // Copied, so that each getter runs once. An operation also reads options that its input inherits.
    const members: { options?: unknown } = { ...given }
    if (!Object.hasOwn(members, 'options') && 'options' in given) members.options = given.options
    return recordInput(members, recorded, (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

/** Maximum number of columns that an event lists. Of the others, only the count is recorded. */
const MAX_NAMES = 100

/** Returns the recorded input with the names that a query reads. */
export function withNames(content: string, names: NamesRead | undefined): string {
  if (names === undefined) return content
  const { tables, columns, filters } = names
  const input: object = content === '' ? {} : JSON.parse(content)
  return JSON.stringify({ ...input, tables, columns: atMost(columns), filters: atMost(filters) })
}

function atMost(names: readonly string[]): readonly unknown[] {
  return names.length <= MAX_NAMES ? names : [...names.slice(0, MAX_NAMES), { more: names.length - MAX_NAMES }]
}
