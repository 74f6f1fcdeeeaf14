/** Who asks: the caller an application vouches for, checked before he may do anything. */
import { z } from 'zod'
import { VaultError } from '../errors.ts'

/** A caller as the application describes it. It is the application's word: the vault authenticates nobody in process. */
export interface Caller {
  /** User's email address or service account's id; recorded with everything he does. */
  readonly actor: string
  readonly actorType: 'USER' | 'SERVICE_ACCOUNT'
  /** What he may do. For now VAULT_OWNER may do everything and any other role nothing. */
  readonly roles: readonly string[]
  /** Facts about him that a policy may use, by name. */
  readonly context?: Readonly<Record<string, string | number | boolean>>
}

/** Role that may do everything. */
export const OWNER = 'VAULT_OWNER'

const shape = z.strictObject({
  actor: z.string().min(1).max(320),
  actorType: z.enum(['USER', 'SERVICE_ACCOUNT']),
  roles: z.array(z.string().min(1).max(128)).max(100),
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
})

/** Checks and copies a caller. Throws `invalid_request` naming the member at fault. */
export function parseCaller(caller: unknown): Caller {
  const parsed = shape.safeParse(caller)
  if (parsed.success) {
    const { context, ...rest } = parsed.data
    return context === undefined ? rest : { ...rest, context }
  }
  const member = parsed.error.issues[0]?.path[0]
  throw new VaultError(
    'invalid_request',
    `The caller was refused: ${member === undefined ? 'it' : String(member)} is not as described. Give actor, actorType and roles.`,
  )
}
