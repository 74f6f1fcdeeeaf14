/** What claims say: the attributes of a `ctx` claim, which a policy reads, and text that events record. */
import type { Caller } from '../../index.ts'

/** What a `ctx` claim says. */
export interface ClaimContext {
  readonly context?: NonNullable<Caller['context']>
  readonly bearerTokenContextID?: string
}

/** What the context of a caller can hold: levels, of which the claim is the first, and values of any kind. */
const MAX_DEPTH = 8
const MAX_VALUES = 1000

/**
 * Reads a `ctx` claim. Text is the id of the context, and a policy reads it as `ctx.id`. An object is the context as it is. Null and empty
 * text are as no claim. Undefined for any other claim, because a condition on it would take the attribute for absent, and for an object with
 * a value that cannot be kept exactly.
 */
export function readClaimContext(ctx: unknown): ClaimContext | undefined {
  if (ctx === undefined || ctx === null || ctx === '') return {}
  const context = typeof ctx === 'string' ? { id: ctx } : ctx
  if (!isContext(context)) return undefined
  const { id } = context
  const text = typeof id === 'number' ? String(id) : id
  return { context, ...(isEventText(text) ? { bearerTokenContextID: text } : {}) }
}

function isContext(value: unknown): value is NonNullable<Caller['context']> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isExact(value, 1, { values: 0 })
}

/** Returns true for JSON that means what the issuer wrote. */
function isExact(value: unknown, depth: number, counter: { values: number }): boolean {
  if (++counter.values > MAX_VALUES) return false
  // JSON.parse rounds larger integers, and a rounded id is the id of another.
  if (typeof value === 'number') return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
  if (typeof value === 'string') return !/\p{Cs}/u.test(value)
  if (typeof value !== 'object' || value === null) return true
  return (
    depth <= MAX_DEPTH && Object.entries(value).every(([name, one]) => name !== '__proto__' && isExact(one, depth + 1, counter))
  )
}

const MAX_LENGTH = 1000

/** Returns true for text of 1 to 1,000 UTF-16 units, without control characters and lone surrogates. */
export function isEventText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(value)
}
