#!/usr/bin/env python3
"""Makes TABLE.md of the newest runs in results/: `table.py > TABLE.md`.

results/NAME.json holds {"device", "driver", "commit", "pytorch", "kernelbench", "ours": [...], "peers": [...]}: lines of
judge --json and of kernelbench/peers.py --json."""
import json, math, re
from pathlib import Path

HERE = Path(__file__).parent


def source_bytes(name):
    number = re.match(r'\d+', name).group()
    files = list((HERE / 'kernelbench').glob(f'*/{number}_*.tile'))
    return sum(f.stat().st_size for f in files)


def main():
    files = sorted((HERE / 'results').glob('*-kernelbench.json'))
    run = json.loads(files[-1].read_text())
    peers = {row['name']: row for row in run['peers']}
    ratios, right = [], 0
    missing = [{'name': name, 'status': 'not run', 'us': None} for name in peers if name not in {r['name'] for r in run['ours']}]
    rows = sorted(run['ours'] + missing, key=lambda row: int(row['name'].split('_')[0]))
    lines = []
    for row in rows:
        peer = peers.get(row['name'], {})
        compiled, eager = peer.get('compiled_us'), peer.get('eager_us')
        ratio = compiled / row['us'] if compiled and row['us'] else None
        right += row['status'] == 'right'
        if ratio:
            ratios.append(ratio)
        cells = [row['name'], row['status'], f"{row['us'] / 1e3:.3f}" if row['us'] else '', f'{eager / 1e3:.3f}' if eager else '',
                 f'{compiled / 1e3:.3f}' if compiled else '', f'{ratio:.2f}' if ratio else '', str(source_bytes(row['name']))]
        lines.append('| ' + ' | '.join(cells) + ' |')
    print('# KernelBench, level 1\n')
    print(f"{run['device']}, driver {run['driver']}, commit {run['commit']}; peer: PyTorch {run['pytorch']}, KernelBench {run['kernelbench']}; "
          f'made by `python3 tests/judges/table.py` of {files[-1].name}.\n')
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f'{right} of {len(rows) - len(missing)} right. Beside `torch.compile`, {len(ratios)} timed: geometric mean {mean:.2f}, '
              f'{sum(r >= 1 for r in ratios)} at or above it, least {min(ratios):.2f}.\n')
    print('| operator | ours | ms | eager | torch.compile | ratio | bytes of source |\n|---|---|---|---|---|---|---|')
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
