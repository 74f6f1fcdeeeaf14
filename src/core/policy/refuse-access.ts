/** The one sentence a caller hears when the policy says no: the same whatever is stored. */
import { VaultError } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'
import type { Caller } from './caller.ts'

/** The error for an action nothing grants; to be thrown. It tells who and which action, and of the table only the name he gave. */
export function forbidden(caller: Pick<Caller, 'actorType'>, action: Action, table?: Table): VaultError {
  const who = caller.actorType === 'USER' ? 'The user' : 'The service account'
  return new VaultError('forbidden', `${who} has no grant for ${action} here. Ask the owner of the vault for a role.`, {
    ...(table === undefined ? {} : { table: table.name }),
  })
}
