/** The one sentence a caller hears when the policy says no: the same whatever is stored. */
import { type Fault, fault, words } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'
import type { Caller } from './caller.ts'

/** The error for an action nothing grants; to be thrown. It tells who and which action, and of the table only the name he gave. */
export function forbidden(caller: Pick<Caller, 'actorType'>, action: Action, table?: Table): Fault {
  const who = words(caller.actorType === 'USER' ? 'The user' : 'The service account')
  const details = table === undefined ? {} : { table: table.name }
  return fault('forbidden', details)`${who} is not granted ${words(action)} for this request. Ask the vault owner for a role.`
}
