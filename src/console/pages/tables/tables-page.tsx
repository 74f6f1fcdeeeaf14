/** The page tables. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function TablesPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Tables'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
