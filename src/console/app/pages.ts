/** The pages: each in a chunk of its own, which is loaded when it is first opened. */
import type { ComponentType } from 'preact'
import type { IconName } from '../ui/icon.tsx'
import type { CallerDescription } from './contract.ts'
import type { PageProps } from './router.ts'

/** A page. */
export interface Page {
  /** First segment of its path. */
  readonly id: string
  readonly name: string
  readonly icon: IconName
  /** Opens it after G. */
  readonly key: string
  /** True if the caller may use it: others do not see it. */
  isShown(caller: CallerDescription): boolean
  load(): Promise<ComponentType<PageProps>>
}

const always = (): boolean => true

/** The pages of the side bar, in its order. */
export const PAGES: readonly Page[] = [
  {
    id: 'tables',
    name: 'Tables',
    icon: 'table',
    key: 't',
    isShown: always,
    load: () => import('../pages/tables/tables-page.tsx').then(({ TablesPage }) => TablesPage),
  },
  {
    id: 'query',
    name: 'Queries',
    icon: 'query',
    key: 'q',
    isShown: always,
    load: () => import('../pages/query/query-page.tsx').then(({ QueryPage }) => QueryPage),
  },
  {
    id: 'tokens',
    name: 'Tokens',
    icon: 'token',
    key: 'k',
    isShown: always,
    load: () => import('../pages/tokens/tokens-page.tsx').then(({ TokensPage }) => TokensPage),
  },
  {
    id: 'policy',
    name: 'Policy',
    icon: 'policy',
    key: 'p',
    isShown: always,
    load: () => import('../pages/policy/policy-page.tsx').then(({ PolicyPage }) => PolicyPage),
  },
  {
    id: 'audit',
    name: 'Audit',
    icon: 'audit',
    key: 'a',
    isShown: ({ can }) => can.audit,
    load: () => import('../pages/audit/audit-page.tsx').then(({ AuditPage }) => AuditPage),
  },
  {
    id: 'ops',
    name: 'Operations',
    icon: 'operations',
    key: 'o',
    isShown: ({ can }) => can.administer,
    load: () => import('../pages/operations/operations-page.tsx').then(({ OperationsPage }) => OperationsPage),
  },
]

/** The page of one record: its path begins with that of its table. */
export const loadRecordPage = (): Promise<ComponentType<PageProps>> =>
  import('../pages/record/record-page.tsx').then(({ RecordPage }) => RecordPage)

/** Returns the pages that the caller may use. */
export function shownPages(caller: CallerDescription): readonly Page[] {
  return PAGES.filter((page) => page.isShown(caller))
}
