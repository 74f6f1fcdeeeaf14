/** May this caller do this to this table? One place says so, before anything is read. */
import { VaultError } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import type { Caller } from './caller.ts'
import { OWNER } from './caller.ts'

/** What can be done to a table. Source: semantics, "Policies". */
export type Action = 'CREATE' | 'READ' | 'UPDATE' | 'DELETE' | 'TOKENIZATION' | 'DETOKENIZATION'

/** Throws `forbidden` unless the caller may; the sentence is the same whatever the table holds. */
export function assertAllowed(caller: Caller, action: Action, table: Table | undefined): void {
  if (isOwner(caller)) return
  throw new VaultError(
    'forbidden',
    `${caller.actorType === 'USER' ? 'The user' : 'The service account'} has no grant for ${action} here. Ask the owner of the vault for a role.`,
    {
      ...(table === undefined ? {} : { table: table.name }),
    },
  )
}

/** True for a caller who may do everything. */
export function isOwner(caller: Caller): boolean {
  return caller.roles.includes(OWNER)
}
