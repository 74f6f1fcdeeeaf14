/** What a primary process and its workers say to each other. */
import type { MetricObject } from 'prom-client'
import type { Learned } from './vault-server.ts'

/** From the primary to a worker. `connection` comes with a socket. */
export type ToWorker =
  | { readonly kind: 'connection' | 'announceEnd' | 'drain' | 'reload' | 'beginUpkeep' }
  | { readonly kind: 'learned'; readonly learned: Learned }
  | { readonly kind: 'ask'; readonly question: 'metrics' | 'ready'; readonly number: number }

/** From a worker to the primary. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'learned'; readonly learned: Learned }
  | { readonly kind: 'answer'; readonly number: number; readonly metrics: MetricObject[]; readonly isReady: boolean }
