/** The types of vaults whose schema is known at run time only. */
import type { SchemaDefinition, Session, Vault } from '../../index.ts'

/** A vault of any schema. */
export type AnyVault = Vault<SchemaDefinition>
/** A session of it. */
export type AnySession = Session<SchemaDefinition>
