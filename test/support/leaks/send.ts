/** How requests reach a vault, and what may stand in between. */
import type { Caller, Vault } from '../../../src/index.ts'
import type { LeakRequest } from './known-values.ts'

/** Sends a request and answers what came back. */
export type Send = (request: LeakRequest) => Promise<unknown>

/** What stands between the caller and the vault, with the owner's hold on it at hand; in negative controls it is what leaks. */
export type Layer = (send: Send, owner: Send) => Send

/** Calls the method of a session, or `explain`, which is the vault's. */
export function senderOf(vault: Vault, session: object, caller: Caller): Send {
  return async ({ method, args }) => {
    if (method === 'explain') return Reflect.apply(vault.explain, vault, [caller, ...args])
    return Reflect.apply(Reflect.get(session, method), session, args)
  }
}
