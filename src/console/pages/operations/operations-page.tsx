/** The page operations. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function OperationsPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Operations'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
