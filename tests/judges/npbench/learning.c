/* NPBench: layers of networks, f32. */
#include "program.h"

#include "conv2d.h"
#include "lenet.h"
#include "mlp.h"
#include "resnet.h"
#include "softmax.h"

PROGRAM(conv2d) { return judge_conv2d(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3)); }
PROGRAM(softmax) { return judge_softmax(c->stream, VIEW(0), VIEW(1)); }

PROGRAM(mlp)
{
    int status = judge_mlp_dense(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(7), true);
    if (!status)
        status = judge_mlp_dense(c->stream, VIEW(7), VIEW(3), VIEW(4), VIEW(8), true);
    if (!status)
        status = judge_mlp_dense(c->stream, VIEW(8), VIEW(5), VIEW(6), VIEW(9), false);
    return status ? status : judge_mlp_softmax(c->stream, VIEW(9));
}

PROGRAM(lenet)
{
    int status = judge_lenet_conv(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(11));
    if (!status)
        status = judge_lenet_pool(c->stream, VIEW(11), VIEW(12));
    if (!status)
        status = judge_lenet_conv(c->stream, VIEW(12), VIEW(3), VIEW(4), VIEW(13));
    if (!status)
        status = judge_lenet_pool(c->stream, VIEW(13), VIEW(14));
    struct judge_tensor flat = {.rank = 2, .extent = {SIZE("n"), SIZE("cbeforefc1")}};
    judge_set_memory(&flat, c->tensors[14].memory);
    if (!status)
        status = judge_lenet_dense(c->stream, (void *)flat.view, VIEW(5), VIEW(6), VIEW(15), true);
    if (!status)
        status = judge_lenet_dense(c->stream, VIEW(15), VIEW(7), VIEW(8), VIEW(16), true);
    return status ? status : judge_lenet_dense(c->stream, VIEW(16), VIEW(9), VIEW(10), VIEW(17), false);
}

static void derive_lenet(struct judge_case *c)
{
    int64_t h = SIZE("h") - 4, w = SIZE("w") - 4;
    judge_set_size(c, "hc", (double)h), judge_set_size(c, "wc", (double)w);
    judge_set_size(c, "hp", (double)(h / 2)), judge_set_size(c, "wp", (double)(w / 2));
    h = h / 2 - 4, w = w / 2 - 4;
    judge_set_size(c, "hd", (double)h), judge_set_size(c, "wd", (double)w);
    judge_set_size(c, "hq", (double)(h / 2)), judge_set_size(c, "wq", (double)(w / 2));
    judge_set_size(c, "cbeforefc1", (double)(16 * (h / 2) * (w / 2)));
}

PROGRAM(resnet)
{
    int status = judge_resnet_conv(c->stream, VIEW(0), VIEW(1), VIEW(4), 1);
    if (!status)
        status = judge_resnet_normalize(c->stream, VIEW(4), NULL);
    if (!status)
        status = judge_resnet_conv(c->stream, VIEW(4), VIEW(2), VIEW(5), 0);
    if (!status)
        status = judge_resnet_normalize(c->stream, VIEW(5), NULL);
    if (!status)
        status = judge_resnet_conv(c->stream, VIEW(5), VIEW(3), VIEW(6), 0);
    return status ? status : judge_resnet_normalize(c->stream, VIEW(6), VIEW(0));
}

static void derive_conv2d(struct judge_case *c)
{
    judge_set_size(c, "ho", NUMBER("h") - NUMBER("kk") + 1);
    judge_set_size(c, "wo", NUMBER("w") - NUMBER("kk") + 1);
}

#define CONVOLUTION "input:f32[n,h,w,ci] weights:f32[kk,kk,ci,co] bias:f32[co] > output:f32[n,ho,wo,co]"
#define MLP \
    "input:f32[n,c] w1:f32[c,s0]~-1,1 b1:f32[s0] w2:f32[s0,s1]~-1,1 b2:f32[s1] w3:f32[s1,s2]~-0.1,0.1 b3:f32[s2]"
#define LENET                                                                                                 \
    "input:f32[n,h,w,1] conv1:f32[5,5,1,6]~-1,1 conv1bias:f32[6] conv2:f32[5,5,6,16]~-1,1 conv2bias:f32[16] " \
    "fc1w:f32[cbeforefc1,120]~-1,1 fc1b:f32[120] fc2w:f32[120,84]~-1,1 fc2b:f32[84] fc3w:f32[84,10]~-1,1 fc3b:f32[10]"
#define LENET_LAYERS \
    " a:f32[n,hc,wc,6]! b:f32[n,hp,wp,6]! d:f32[n,hd,wd,16]! e:f32[n,hq,wq,16]! f:f32[n,120]! g:f32[n,84]! > y:f32[n,10]"
#define RESNET \
    "input:f32[n,h,w,c1] conv1:f32[1,1,c1,c2] conv2:f32[3,3,c2,c2] conv3:f32[1,1,c2,c1] p:f32[n,h+2,w+2,c2]! q:f32[n,h,w,c2]! > y:f32[n,h,w,c1]"
static const struct judge_problem problems[] = {
    ROW_DERIVED("conv2d", conv2d, CONVOLUTION, "n=8 ci=3 co=16 kk=5 h=128 w=128", "n=2 ci=3 co=16 kk=3 h=12 w=41", F32,
                derive_conv2d),
    ROW("softmax", softmax, "x:f32[n,h,sm,sm] > y:f32[n,h,sm,sm]", "n=16 h=16 sm=128", "n=2 h=3 sm=37", F32),
    ROW("mlp", mlp, MLP " p:f32[n,s0]! q:f32[n,s1]! > y:f32[n,s2]", "n=8 c=3 s0=8000 s1=2000 s2=2000",
        "n=8 c=3 s0=300 s1=100 s2=70", 1e-4),
    ROW_DERIVED("lenet", lenet, LENET LENET_LAYERS, "n=8 h=112 w=112", "n=4 h=28 w=28", F32, derive_lenet),
    ROW("resnet", resnet, RESNET, "n=8 w=28 h=28 c1=64 c2=16", "n=8 w=7 h=9 c1=20 c2=8", 1e-3),
};
const struct judge_family judge_learning = {problems, sizeof problems / sizeof *problems};
