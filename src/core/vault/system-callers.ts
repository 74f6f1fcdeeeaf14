/** Callers that no application authenticates: the vault itself, and one that is unknown. */
import { parseCaller } from '../policy/caller.ts'

/** The vault itself, as its own caller: in events of scans. */
export const VAULT_CALLER = parseCaller({ actor: 'strongroom', actorType: 'SERVICE_ACCOUNT', roles: [] })
/** Who presents a text that is not a ticket or a credential of this vault. */
export const UNKNOWN_CALLER = parseCaller({ actor: 'unknown', actorType: 'SERVICE_ACCOUNT', roles: [] })
