/** A vault of any schema, as a handler uses it: sessions by the names of operations only, whose types do not depend on the schema. */
import type { Caller, SchemaDefinition, Session, Vault } from '../../index.ts'

/** A vault of any schema. */
export interface HostedVault extends Omit<Vault, 'as' | 'transaction' | 'withTransaction'> {
  as(caller: Caller): Pick<Session<SchemaDefinition>, 'perform'>
}
