import json,math,collections,sys
gp={}
for l in open('/work/main/catalog/gpus.json'):
    l=l.strip().rstrip(',')
    if l.startswith('{'):
        g=json.loads(l); gp[g['id']]=g
rows=[json.loads(l) for l in open('/tmp/td.jsonl')]
def feat(r):
    g=gp[r['gpu']]
    d=g['dense_TFLOPS'];m=g.get('measured_TFLOPS',{})
    dt=(r['request'].get('precision')or{}).get('compute','bf16')
    if dt=='fp8': dt='bf16'
    k=dt if dt in d else 'fp16'
    if dt=='fp32': k='tf32' if 'tf32' in d else 'fp32'
    R=m.get(k) or (m.get('bf16') if k in('fp16','bf16') and m.get('bf16') else d[k]*0.82)
    R8=m.get('fp8') or d.get('fp8',2*R/0.75)*0.75
    BW=g['memory_bandwidth_GBps']*1e9
    f=[]
    for k in r['ranks']:
        f.append(dict(mm=sum(k['matmul'])/R/1e12,mm8=sum(k['matmul_fp8'])/R8/1e12,at=sum(k['attention'])/R/1e12,by=k['bytes']/BW,k=k['kernels'],opt=(2*k['states']+k['weights']*0+k['trained']*8)/BW,trained=k['trained'],weights=k['weights']))
    return f
for r in rows:
    r['f']=feat(r)
    p=r['request'].get('parallel')or{}
    r['p']=p
    q=r['request'].get('quantization'); 
    r['m']=(r['request']['method']['kind'] if isinstance(r['request'].get('method'),dict) else 'full')+('+'+q['kind'] if q else '')
import statistics as st,random
arch={}
def A_(r): return gp[r['gpu']]['architecture']
print(collections.Counter(A_(r) for r in rows))
def nic(r):  # GB/s per GPU between nodes
    a=A_(r)
    if 'bigscience' in r['source']: return 12.5e9
    return {'Ampere':25e9,'Hopper':50e9,'Blackwell':50e9}.get(a,12.5e9)
def link(r):
    g=gp[r['gpu']]
    if g.get('link') in('nvlink','infinity_fabric') and g.get('link_topology') in ('switch','mesh','direct'): return g.get('link_GBps',600)*1e9/2
    return 22e9
def prep(r):
    p=r['p']; n=p.get('gpus',1);tp=p.get('tensor',1);pp=p.get('pipeline',1);cp=p.get('context',1);ep=p.get('expert',1)
    pn=min(n,p.get('gpus_per_node',8) or 8)
    s=p.get('strategy','none'); dp=n//(tp*pp)
    A=r['accumulation']; q=r['request']
    f=max(r['f'],key=lambda f:f['mm']+f['mm8']+f['by'])
    k=[x for x in r['ranks']][r['f'].index(f)]
    BW=gp[r['gpu']]['memory_bandwidth_GBps']*1e9
    d=dict(mm=f['mm'],mm8=f['mm8'],at=f['at'],op=k['operand_bytes']/BW,by=f['by'],k=f['k'],opt=f['opt'],A=A,bub=(pp-1)/max(1,p.get('interleave',1)) if pp>1 else 0)
    dom=max(pn, gp[r['gpu']].get('link_gpus',8) if gp[r['gpu']].get('link_topology')=='switch' else 0)
    L=link(r);N=nic(r)
    def bw(group,stride=1): return L if group*stride<=dom else N
    k=r['ranks'][r['f'].index(f)]
    tr=k['trained']
    fr=(dp-1)/dp if dp else 0
    if s in('zero3','fsdp','fsdp2'): vol=k['gathered_bytes']*A
    elif dp>1: vol=2*tr*2
    else: vol=0
    d['dp']=vol*fr/bw(dp,tp)
    d['tp']=k['tensor_bytes']*(tp-1)/tp/bw(tp)
    d['ep']=k['expert_bytes']*(ep-1)/ep/bw(ep,tp)
    d['arch']=A_(r)
    return d
for r in rows: r['d']=prep(r)
params=dict(e_Ampere=.85,e_Hopper=.65,e_Blackwell=.7,e_Ada=.85,e_other=.7,f8=.9,at=.5,op=1.0,by=.8,k=9e-6,opt=.8,dp=.15,hide=.6,tp=.8,ep=.8,ov=.05)
def est(r,P):
    d=r['d']
    e=P.get('e_'+d['arch'],P['e_other'])
    x=d['mm']/e+d['mm8']/(e*P['f8'])+d['at']/(P['at']*e/.85)+P['op']*d['op']+d['by']/P['by']
    if r['m']=='lora+gptq': x+=0
    x=max(x,d['k']*P['k'])
    x+=d['tp']/P['tp']+d['ep']/P['ep']
    T=x*(d['A']+d['bub'])+d['opt']/P['opt']
    comm=d['dp']/P['tp']
    T+=max(P['dp']*comm, comm-P['hide']*T)
    return T+P['ov']
use=[r for r in rows if r['d']['arch'] in('Ampere','Hopper','Blackwell','Ada','CDNA 3','CDNA 4') or 1]
src=collections.Counter(r['source'] for r in use)
def loss(P):
    s=0;w=0
    for r in use:
        l=abs(math.log(est(r,P)/r['seconds'])); ww=1/math.sqrt(src[r['source']])
        s+=ww*min(l,.6);w+=ww
    return s/w
best=dict(params);b=loss(best)
random.seed(1)
for it in range(6):
    for k in list(best):
        for f in(.5,.7,.85,.93,.97,1.03,1.07,1.15,1.4,2):
            P=dict(best);P[k]*=f
            if k in('at','by','opt','tp','ep') and P[k]>1: continue
            l=loss(P)
            if l<b: b,best=l,P
print(b,{k:round(v,7) for k,v in best.items()})
def report(P):
    G=collections.defaultdict(list)
    allv=[]
    for r in use:
        e=est(r,P)/r['seconds']; allv.append(abs(e-1))
        s=r['p'].get('strategy','none')+''.join('+'+k[0] for k in('tensor','pipeline','context','expert') if r['p'].get(k,1)>1)
        G[(r['source'][:26],r['gpu'],s,r['m'],(r['request'].get('precision')or{}).get('compute'))].append(e)
    allv.sort()
    print(len(allv),'median',allv[len(allv)//2],'p90',allv[int(.9*len(allv))])
    for k,v in sorted(G.items()):
        v.sort();print(f"{str(k):100s} {len(v):3d} med {st.median(v):.2f} {v[0]:.2f} {v[-1]:.2f}")
report(best)
