/** The queries of this tab: in its memory until the session ends, because their texts can have values. */
import { onSignOut } from '../../app/session.ts'
import { createStore } from '../../app/store.ts'

/** A query that ran. */
export interface PastQuery {
  readonly text: string
  readonly isRefused: boolean
}

const MAX_QUERIES = 30

/** The queries, the newest first, each once. */
export const pastQueries = createStore<readonly PastQuery[]>([])

/** The text of the editor while another page is shown. */
export const draft = { text: '' }

/** Notes a query that ran. */
export function noteQuery(query: PastQuery): void {
  pastQueries.set([query, ...pastQueries.get().filter(({ text }) => text !== query.text)].slice(0, MAX_QUERIES))
}

onSignOut(() => {
  pastQueries.set([])
  draft.text = ''
})
