/** Sends requests to a vault, through an optional layer that negative controls use to leak. */
import type { Caller, Vault } from '../../../src/index.ts'
import type { LeakRequest } from './known-values.ts'

/** Sends a request and returns its result. */
export type Send = (request: LeakRequest) => Promise<unknown>

/** A layer between the caller and the vault that also has the owner's session. In negative controls it leaks. */
export type Layer = (send: Send, owner: Send) => Send

/** Calls a method of the session, or `explain` of the vault. */
export function senderOf(vault: Vault, session: object, caller: Caller): Send {
  return async ({ method, args }) => {
    if (method === 'explain') return Reflect.apply(vault.explain, vault, [caller, ...args])
    return Reflect.apply(Reflect.get(session, method), session, args)
  }
}
