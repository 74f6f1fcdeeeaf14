/** A vault as the handler uses it: of any schema, because routes perform operations by their names. */
import type { Caller, SchemaDefinition, Session, Vault } from '../../index.ts'

/** The members of a vault that do not depend on its schema, and sessions that perform operations by their names. */
export interface AnyVault
  extends Pick<
    Vault,
    'id' | 'accountId' | 'schema' | 'credentials' | 'recordRefusal' | 'downloadWithTicket' | 'uploadWithTicket' | 'close'
  > {
  as(caller: Caller): Pick<Session<SchemaDefinition>, 'perform'>
}
