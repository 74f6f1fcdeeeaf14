/** Reads the body of a token request: what existing clients send as JSON, and forms as RFC 7523 describes them. */
import * as z from 'zod'
import { VaultError } from '../../index.ts'

/** A token request. */
export interface TokenRequest {
  readonly assertion: string
  /** Names of roles; undefined for all roles of the service account. */
  readonly roles: readonly string[] | undefined
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const shape = z.object({
  grant_type: z.literal(GRANT_TYPE),
  assertion: z.string().min(1).max(8192),
  scope: z.string().max(8192).nullish(),
})

/**
 * Returns the request in a body: an object that was JSON, or text that is JSON or a form. Other members are ignored. Throws
 * `invalid_request`, which names the member.
 */
export function parseTokenRequest(body: unknown): TokenRequest {
  const parsed = shape.safeParse(typeof body === 'string' ? membersOf(body) : body)
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.path[0])
  const { assertion, scope } = parsed.data
  return { assertion, roles: rolesOf(scope ?? '') }
}

/** Returns the roles that a scope names: `role:<name>` each, separated by spaces. */
function rolesOf(scope: string): readonly string[] | undefined {
  const parts = scope.split(' ').filter((part) => part !== '')
  if (parts.length === 0) return undefined
  const roles = parts.map((part) => /^role:(.{1,128})$/u.exec(part)?.[1] ?? '')
  if (roles.length > 100 || roles.includes('')) throw invalid('scope')
  return roles
}

function membersOf(text: string): unknown {
  if (!text.trimStart().startsWith('{')) {
    const form = new URLSearchParams(text)
    // A member that is sent twice has no one meaning.
    return new Set(form.keys()).size === form.size ? Object.fromEntries(form) : undefined
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function invalid(member: PropertyKey | undefined): VaultError {
  const members: Readonly<Record<string, string>> = {
    grant_type: `grant_type must be ${GRANT_TYPE}.`,
    assertion: 'assertion must be a signed JWT of at most 8,192 characters.',
    scope: 'scope must be role:<name>, once or several times with spaces between, for at most 100 roles.',
  }
  const known = typeof member === 'string' ? members[member] : undefined
  return new VaultError(
    'invalid_request',
    `Token request failed. ${known ?? 'Expected grant_type, assertion and optionally scope.'}`,
  )
}
