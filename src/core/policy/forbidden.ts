/** The fault of a denied action. It is the same whatever is stored. */
import { type Fault, fault, withoutStack, words } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'
import type { Caller } from './caller.ts'

/** The fault for an action that no statement grants; to be thrown. It names the kind of caller, the action and the requested table. */
export function forbidden(caller: Pick<Caller, 'actorType'>, action: Action | 'ALL', table?: Table): Fault {
  const who = words(caller.actorType === 'USER' ? 'The user' : 'The service account')
  const details = table === undefined ? {} : { table: table.name }
  return withoutStack(
    () => fault('forbidden', details)`${who} is not granted ${words(action)} for this request. Ask the vault owner for a role.`,
  )
}
