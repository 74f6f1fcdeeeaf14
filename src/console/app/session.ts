/** Who is signed in and what the vault shows them: held in memory until they sign out, or the vault refuses the credential. */

import { forgetRevealed } from '../ui/revealed.ts'
import { perform, refusals } from './api.ts'
import type { CallerDescription, TableDescription } from './contract.ts'
import { type Credential, keepCredential } from './credential.ts'
import { leaveAll } from './router.ts'
import { createStore } from './store.ts'

/** A session of this tab. */
export interface Session {
  readonly caller: CallerDescription
  readonly tables: readonly TableDescription[]
}

/** The session; undefined while signed out. */
export const session = createStore<Session | undefined>(undefined)

/** Why the tab was signed out; empty if the caller did it. */
export const endReason = createStore('')

/** Numbers of records by table, as far as a page has counted them. */
export const counts = createStore<Readonly<Record<string, number>>>({})

/** What ends with the session, beside what this module holds: pages add their own, such as a history. */
const endings = new Set<() => void>([forgetRevealed])

/** Calls back when the session ends. */
export function onSignOut(end: () => void): void {
  endings.add(end)
}

/** Returns the session. For pages, which are drawn while there is one. */
export function currentSession(): Session {
  const current = session.get()
  if (current === undefined) throw new Error('A page was drawn without a session.')
  return current
}

/** Returns a table by its name; undefined if the caller has none of that name. */
export function tableOf(name: string): TableDescription | undefined {
  return session.get()?.tables.find((table) => table.name === name)
}

/** Signs in. Throws `ApiError` if the vault does not accept the credential. */
export async function signIn(credential: Credential): Promise<void> {
  const caller = await perform('describeCaller', {}, { as: credential })
  const { tables } = await perform('describeSchema', {}, { as: credential })
  keepCredential(credential)
  endReason.set('')
  session.set({ caller, tables })
}

/** Reads the schema again, after it or the policy changed. */
export async function refreshSchema(): Promise<void> {
  const { tables } = await perform('describeSchema', {})
  session.set({ ...currentSession(), tables })
}

/** Signs out and forgets everything. */
export function signOut(reason = ''): void {
  keepCredential(undefined)
  for (const end of endings) end()
  counts.set({})
  endReason.set(reason)
  session.set(undefined)
  leaveAll()
}

refusals.onRefused = () => signOut('The vault no longer accepts this credential. It may be expired or revoked. Sign in again.')
