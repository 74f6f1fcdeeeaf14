/** A draft of a policy: roles that it changes or adds. The others stay as they are, and a role without statements grants nothing. */
import { fault, VaultError, words } from '../errors.ts'
import { readInput } from '../util/boundary.ts'
import { isList } from '../util/lists.ts'
import { compilePolicy, type Policy } from './compile-policy.ts'
import type { PolicyDefinition, PolicyError } from './statement.ts'

/** Statements of a draft at most. */
const MAX_STATEMENTS = 1000

/** Returns the roles of a draft. What their statements say is checked later, against the schema. Throws `invalid_request`, `limit_exceeded`. */
export function parseDraft(draft: unknown, member: 'roles' | 'draft'): PolicyDefinition {
  if (typeof draft !== 'object' || draft === null || Array.isArray(draft))
    throw fault('invalid_request')`${words(member)} must be an object of roles by name, each an array of statements.`
  const count = Object.values(draft).reduce((sum: number, statements) => sum + (isList(statements) ? statements.length : 1), 0)
  if (count > MAX_STATEMENTS) throw fault('limit_exceeded')`${words(member)} can have at most ${MAX_STATEMENTS} statements.`
  return draft as PolicyDefinition // Its compiler reads it as unknown.
}

/** Returns a policy with the roles of a draft. Throws the first of its errors, or passes each to `refuse`. */
export function withDraft(
  { definition, layout }: Policy,
  draft: PolicyDefinition,
  refuse?: (error: PolicyError) => void,
): Policy {
  return readInput(() => compilePolicy({ ...definition, ...draft }, layout, refuse), VaultError.isGenuine)
}
