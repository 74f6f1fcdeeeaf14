/** The page query. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function QueryPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Query'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
