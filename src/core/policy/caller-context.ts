/** Checks and copies the context of a caller: attributes from a credential, which can be nested. */
import { VaultError } from '../errors.ts'
import { MAX_CONTEXT_BYTES, MAX_CONTEXT_DEPTH, MAX_CONTEXT_NODES } from '../limits.ts'
import { ByteWriter } from '../util/bytes.ts'
import { type JsonValue, ValueError } from '../values/column-type.ts'
import { parseBoundedJson, parseJson } from '../values/parse-json.ts'

/** The attributes of a caller, by name. */
export type CallerContext = Readonly<Record<string, JsonValue>>

/**
 * Returns a copy without members that are null, which count as absent. Throws `invalid_request` for a context above a limit. `refuse`
 * returns the error for a member that is no JSON value.
 */
export function parseContext(given: Readonly<Record<string, unknown>>, refuse: (name: string) => VaultError): CallerContext {
  const members = Object.entries(given).map(([name, member]) => [name, jsonOf(member, () => refuse(name))] as const)
  // `fromEntries` makes own members, also for a name such as __proto__.
  const context = Object.fromEntries(members.filter(([, value]) => value !== null))
  assertWithinLimits(context)
  return context
}

function jsonOf(member: unknown, refuse: () => VaultError): JsonValue {
  try {
    return parseJson(member)
  } catch (error) {
    throw error instanceof ValueError ? refuse() : error
  }
}

/** Every session and every ticket holds the context, so it is bounded. */
function assertWithinLimits(context: CallerContext): void {
  const out = new ByteWriter(512)
  try {
    parseBoundedJson(context, { maxDepth: MAX_CONTEXT_DEPTH, maxNodes: MAX_CONTEXT_NODES })
    out.utf8(JSON.stringify(context))
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw tooLarge()
  }
  if (out.written().length > MAX_CONTEXT_BYTES) throw tooLarge()
}

function tooLarge(): VaultError {
  const bounds = `${MAX_CONTEXT_BYTES} bytes of JSON, ${MAX_CONTEXT_NODES} values and ${MAX_CONTEXT_DEPTH} levels`
  return new VaultError('invalid_request', `Invalid caller: "context" can have at most ${bounds}. Shorten it.`)
}
