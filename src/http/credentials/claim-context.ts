/** The `ctx` claim: the attributes that a policy reads, and the id of the context that events record. */
import type { Caller } from '../../index.ts'
import { isEventText } from './event-text.ts'

/** What a `ctx` claim says. */
export interface ClaimContext {
  readonly context?: NonNullable<Caller['context']>
  readonly bearerTokenContextID?: string
}

/**
 * Reads a `ctx` claim. Text is the id of the context: the policy reads it as `ctx.id`. An object has the attributes as members: texts, booleans
 * and numbers that are exact. Any other member, and any other claim, is as if it were absent: conditions on it are unknown.
 */
export function readClaimContext(ctx: unknown): ClaimContext {
  const context = Object.fromEntries(Object.entries(membersOf(ctx)).filter(isAttribute))
  const id = isAttribute(['id', context.id]) ? String(context.id) : ''
  return {
    ...(Object.keys(context).length === 0 ? {} : { context }),
    ...(isEventText(id) ? { bearerTokenContextID: id } : {}),
  }
}

function membersOf(ctx: unknown): object {
  if (typeof ctx === 'string') return ctx === '' ? {} : { id: ctx }
  return typeof ctx === 'object' && ctx !== null && !Array.isArray(ctx) ? ctx : {}
}

function isAttribute(member: [string, unknown]): member is [string, string | number | boolean] {
  const [name, value] = member
  if (name === '__proto__') return false
  if (typeof value === 'string') return !/\p{Cs}/u.test(value)
  // JSON.parse rounds larger integers, and a rounded id is the id of another.
  if (typeof value === 'number') return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))
  return typeof value === 'boolean'
}
